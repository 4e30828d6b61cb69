"""The addresses of a model for each API format of its provider, and its key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from agentbench.errors import UsageError
from agentbench.models.interface import ApiFormat

_BEARER = ("authorization",)
_ANTHROPIC = ("x-api-key",)
_GOOGLE = ("x-goog-api-key",)
_CHAT = "/chat/completions"
_RESPONSES = "/responses"
_OPENAI_PATHS = {ApiFormat.OPENAI_CHAT: _CHAT, ApiFormat.OPENAI_RESPONSES: _RESPONSES}
_ALL_BUT_GEMINI_PATHS = {**_OPENAI_PATHS, ApiFormat.ANTHROPIC_MESSAGES: "/messages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderUrl:
    """One URL for requests in one format; Google's lacks `/MODEL:ACTION`."""

    url: str
    key: str | None = field(repr=False)
    key_headers: tuple[str, ...] = _BEARER


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccess:
    """The endpoints of a model at its provider."""

    by_format: Mapping[ApiFormat, ProviderUrl]
    main: ApiFormat  # the format of the request before a run
    key_variable: str = "OPENAI_API_KEY"  # for messages about a wrong key
    is_own_server: bool = False  # it may have to load the model before it answers

    @property
    def keys(self) -> frozenset[str]:
        """The secrets, which only the provider may get."""
        return frozenset(end.key for end in self.by_format.values() if end.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    key: str  # its environment variable
    base: str
    base_variable: str = ""
    paths: Mapping[ApiFormat, str]
    headers: Mapping[ApiFormat, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )


_GEMINI = _Provider(
    key="GEMINI_API_KEY",
    base="https://generativelanguage.googleapis.com",
    base_variable="GOOGLE_GEMINI_BASE_URL",
    paths={
        ApiFormat.GEMINI_GENERATE: "/v1beta/models",
        ApiFormat.OPENAI_CHAT: "/v1beta/openai/chat/completions",
    },
    headers={ApiFormat.GEMINI_GENERATE: _GOOGLE},
)
_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider(
        key="OPENAI_API_KEY",
        base="https://api.openai.com/v1",
        base_variable="OPENAI_BASE_URL",
        paths=_OPENAI_PATHS,
    ),
    "anthropic": _Provider(
        key="ANTHROPIC_API_KEY",
        base="https://api.anthropic.com",
        base_variable="ANTHROPIC_BASE_URL",
        paths={
            ApiFormat.ANTHROPIC_MESSAGES: "/v1/messages",
            ApiFormat.OPENAI_CHAT: "/v1/chat/completions",
        },
        headers={ApiFormat.ANTHROPIC_MESSAGES: _ANTHROPIC},
    ),
    "gemini": _GEMINI,
    "google": _GEMINI,
    "openrouter": _Provider(
        key="OPENROUTER_API_KEY", base="https://openrouter.ai/api/v1", paths=_ALL_BUT_GEMINI_PATHS
    ),
    "deepseek": _Provider(
        key="DEEPSEEK_API_KEY",
        base="https://api.deepseek.com",
        paths={
            ApiFormat.OPENAI_CHAT: _CHAT,
            ApiFormat.ANTHROPIC_MESSAGES: "/anthropic/v1/messages",
        },
        headers={ApiFormat.ANTHROPIC_MESSAGES: _ANTHROPIC},
    ),
    "groq": _Provider(
        key="GROQ_API_KEY", base="https://api.groq.com/openai/v1", paths=_OPENAI_PATHS
    ),
    "mistral": _Provider(
        key="MISTRAL_API_KEY",
        base="https://api.mistral.ai/v1",
        paths={ApiFormat.OPENAI_CHAT: _CHAT},
    ),
    "xai": _Provider(key="XAI_API_KEY", base="https://api.x.ai/v1", paths=_OPENAI_PATHS),
}
# A user's own server may support any of these; it refuses the others itself.
_OWN_SERVER = _Provider(
    key="OPENAI_API_KEY",
    base="",
    base_variable="OPENAI_BASE_URL",
    paths=_ALL_BUT_GEMINI_PATHS,
    headers={ApiFormat.ANTHROPIC_MESSAGES: (*_ANTHROPIC, *_BEARER)},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """A parsed `--model`."""

    endpoints: ProviderAccess
    model: str  # as its provider knows it


def resolve_model(
    model: str, *, environ: Mapping[str, str], base_url: str | None = None
) -> ResolvedModel:
    """The endpoints of `provider/name`, or of a name on the user's own server.

    Args:
        model: The value of `--model`; without a known provider as a prefix it is a whole name.
        environ: The environment with keys and base URLs.
        base_url: Overrides the provider's URL; without a provider it or OPENAI_BASE_URL is needed.

    Raises:
        UsageError: the provider's key is not set, or the model's address is unknown.
    """
    name, _, bare = model.partition("/")
    provider = _PROVIDERS.get(name) if bare else None
    if provider is None:
        return ResolvedModel(endpoints=_own_server_access(model, environ, base_url), model=model)
    key = environ.get(provider.key)
    base = base_url or environ.get(provider.base_variable) or provider.base
    if not key and base == provider.base:
        raise UsageError(f"--model {model} needs a key: set {provider.key} in the environment")
    return ResolvedModel(endpoints=_provider_access(provider, base, key), model=bare)


def _own_server_access(
    model: str, environ: Mapping[str, str], base_url: str | None
) -> ProviderAccess:
    base = base_url or environ.get(_OWN_SERVER.base_variable)
    if not model or not base:
        known = ", ".join(_PROVIDERS)
        raise UsageError(
            f"--model {model}: {_what_is_wrong(model)}; expected PROVIDER/NAME, as in "
            f"openai/gpt-5, with one of the providers {known}; for a server of your own, "
            "add --base-url or set OPENAI_BASE_URL, as in http://localhost:8000/v1"
        )
    return _provider_access(_OWN_SERVER, base, environ.get(_OWN_SERVER.key))


def _what_is_wrong(model: str) -> str:
    provider, slash, name = model.partition("/")
    if not provider:
        return "the name is missing"
    if provider in _PROVIDERS and not name:
        return f"the name of the model is missing after {provider}/"
    return f"unknown provider {provider!r}" if slash else "the provider is missing"


def _provider_access(provider: _Provider, base: str, key: str | None) -> ProviderAccess:
    root = _checked_base_url(base).rstrip("/")
    if not provider.base.endswith("/v1") and provider.base:
        root = root.removesuffix("/v1")  # the paths include it
    elif not urlsplit(root).path:
        root += "/v1"
    ends = {
        wire: ProviderUrl(
            url=root + path, key=key or None, key_headers=provider.headers.get(wire, _BEARER)
        )
        for wire, path in provider.paths.items()
    }
    return ProviderAccess(
        by_format=ends,
        main=next(iter(ends)),
        key_variable=provider.key,
        is_own_server=base != provider.base,
    )


def _checked_base_url(base: str) -> str:
    wrong = f"{base!r} is not a base URL: expected a URL like http://localhost:8000/v1"
    try:
        parts = urlsplit(base)
        port = parts.port
    except ValueError as fault:  # invalid brackets or port
        raise UsageError(wrong) from fault
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise UsageError(wrong)
    if parts.username or parts.password or parts.query or parts.fragment:
        # A key in it would be in run.json, so it is refused and not shown.
        raise UsageError(
            f"the base URL of {parts.hostname} has a user, a password or a query: expected only "
            "an address; put a key in the provider's variable, such as OPENAI_API_KEY"
        )
    return base
