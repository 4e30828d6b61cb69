"""All cases, by the ids of their tasks."""

from tests.extensions.symbolic.differential import (
    csv_dialect,
    interval,
    lru,
    merge_base,
    semver,
    template,
    token_bucket,
    toml_strings,
    wide_text,
)

CASES = {
    module.CASE.task: module.CASE
    for module in (
        interval,
        semver,
        toml_strings,
        wide_text,
        template,
        csv_dialect,
        token_bucket,
        lru,
        merge_base,
    )
}
