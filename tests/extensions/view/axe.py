"""What axe-core finds on a page that keeps people from using it."""

from axe_playwright_python.sync_playwright import Axe


def serious(page):
    """Each rule that is broken seriously or critically, with some of the places."""
    found = Axe().run(page).response["violations"]
    return {
        each["id"]: [node["html"] for node in each["nodes"][:3]]
        for each in found
        if each["impact"] in {"serious", "critical"}
    }
