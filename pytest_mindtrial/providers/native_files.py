"""Which file types each vendor takes natively: sets of MIME types and predicates of model and type.

Does not load files and does not build message parts. Types are expected in normal form (lower case, no parameters,
``image/jpeg`` for ``image/jpg``), as `providers.base.Attachment` has them. Source: spec providers 3.2 to 3.4.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = [
    "GOOGLE_DOCUMENTS",
    "IMAGES",
    "OPENAI_DOCUMENTS",
    "NativePredicate",
    "accepts_deepseek",
    "accepts_mistral",
    "accepts_types",
]

NativePredicate = Callable[[str, str], bool]
"""``(model, mime) -> bool``"""

IMAGES = frozenset(f"image/{name}" for name in ("jpeg", "jpg", "png", "gif", "webp"))

GOOGLE_DOCUMENTS = frozenset(
    (
        "application/pdf",
        "application/json",
        "text/plain",
        "text/html",
        "text/css",
        "text/xml",
        "text/csv",
        "text/rtf",
        "text/javascript",
    )
)

_OPENAI_APPLICATION = """
    csv graphql javascript json json5 msword pdf rtf toml typescript vnd.apple.iwork vnd.apple.keynote vnd.apple.pages
    vnd.google-apps.document vnd.google-apps.presentation vnd.google-apps.spreadsheet vnd.ms-excel vnd.ms-powerpoint
    vnd.oasis.opendocument.text vnd.openxmlformats-officedocument.presentationml.presentation
    vnd.openxmlformats-officedocument.spreadsheetml.sheet vnd.openxmlformats-officedocument.wordprocessingml.document
    x-awk x-bash x-graphql x-httpd-php x-httpd-php-source x-iif x-json5 x-ndjson x-patch x-php x-powershell x-protobuf
    x-rust x-scala x-sql x-subrip x-terraform x-toml x-yaml yaml
"""
_OPENAI_TEXT = "calendar css csv html javascript jsx markdown plain rtf srt tsv tsx vbscript vtt xml"
_OPENAI_TEXT_X = """
    asm astro awk bash c c++ clojure cmake csharp dart diff dockerfile ejs elixir erb erlang go golang gradle graphql
    groovy handlebars haskell hcl iif ini jade java jinja2 julia kotlin less liquid lisp lua makefile mustache
    objectivec objectivec++ patch perl php properties protobuf pug python r rst ruby rust sass scala script.python scss
    sh shellscript sql subrip swift terraform tex tmpl toml twig typescript vcard yaml zsh
"""

OPENAI_DOCUMENTS = frozenset(
    (
        *(f"application/{name}" for name in _OPENAI_APPLICATION.split()),
        "message/rfc822",
        *(f"text/{name}" for name in _OPENAI_TEXT.split()),
        *(f"text/x-{name}" for name in _OPENAI_TEXT_X.split()),
    )
)

_MISTRAL_PREFIXES = (
    "mistral-large-",
    "mistral-medium-",
    "mistral-small-",
    "ministral-",
    "pixtral-",
    "magistral-",
)
_MISTRAL_TYPES = IMAGES | {"application/pdf"}


def accepts_types(types: frozenset[str]) -> NativePredicate:
    """Return a predicate that looks at the type only."""
    return lambda model, mime: mime in types


def accepts_mistral(model: str, mime: str) -> bool:
    """Tell whether a Mistral model takes a file: pictures and PDF, and only some model families."""
    return mime in _MISTRAL_TYPES and model.strip().lower().startswith(_MISTRAL_PREFIXES)


def accepts_deepseek(model: str, mime: str) -> bool:
    """Tell whether a DeepSeek model takes a file: pictures, and only models that can see."""
    name = model.strip().lower()
    return mime in IMAGES and (name == "deepseek-flash" or "vision" in name)
