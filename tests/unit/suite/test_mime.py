import pytest

from pytest_mindtrial.suite.mime import extension_for, mime_for_name, normalise_mime, sniff_mime


@pytest.mark.parametrize(
    "written, normal",
    [("image/PNG", "image/png"), (" text/plain; charset=utf-8 ", "text/plain"), ("image/jpg", "image/jpeg"), ("", "")],
)
def test_normal_form(written, normal):
    assert normalise_mime(written) == normal


@pytest.mark.parametrize(
    "name, mime",
    [
        ("a.png", "image/png"),
        ("b/C.JPG", "image/jpeg"),
        ("a.csv", "text/csv"),
        ("a.md", "text/markdown"),
        ("a.json", "application/json"),
        ("a.pdf", "application/pdf"),
        ("a.tar.gz", "application/gzip"),
        ("a", ""),
        (".png", ""),
        ("a.unknown", ""),
    ],
)
def test_by_extension(name, mime):
    assert mime_for_name(name) == mime


@pytest.mark.parametrize(
    "mime, extension",
    [("image/jpeg", ".jpg"), ("image/png", ".png"), ("text/plain", ".txt"), ("application/pdf", ".pdf"), ("x/y", "")],
)
def test_usual_extension(mime, extension):
    assert extension_for(mime) == extension


@pytest.mark.parametrize(
    "data, mime",
    [
        (b"", "text/plain"),
        (b"hello", "text/plain"),
        ("grüße".encode(), "text/plain"),
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wave"),
        (b"RIFF\x00\x00\x00\x00WHAT", "application/octet-stream"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"  \n<!DOCTYPE html><p>", "text/html"),
        (b"<html>", "text/html"),
        (b"<HTML lang=en>", "text/html"),
        (b"<!-- x", "text/html"),
        (b"<htmlx>", "text/plain"),
        (b"\n<?xml version='1.0'?>", "text/xml"),
        (b"\xef\xbb\xbftext", "text/plain"),
        (b"\xff\xfea\x00", "text/plain"),
        (b"a\x00b", "application/octet-stream"),
        (b"x" * 512 + b"\x00", "text/plain"),
        (b"\x1b[31mred", "text/plain"),
    ],
)
def test_sniffing(data, mime):
    assert sniff_mime(data) == mime
