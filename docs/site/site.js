// What the theme lacks for a screen reader and a keyboard; it adds parts of a page while one scrolls.
const describe = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, pre > code")) each.tabIndex = 0;
  for (const each of document.querySelectorAll(".md-option[aria-hidden]")) each.tabIndex = -1;
  document.querySelectorAll("nav.md-code__nav, nav nav.md-nav[aria-label]").forEach((each, number) => {
    each.ariaLabel = `${(each.ariaLabel ?? "Code").split(" · ")[0]} · ${number + 1}`;
  });
};
new MutationObserver(describe).observe(document.documentElement, { childList: true, subtree: true });
