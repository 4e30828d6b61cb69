"use strict";
(() => {
  const table = document.getElementById("rows");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const form = document.getElementById("filters");
  const words = document.getElementById("words");
  const choices = { verdict: 3, reason: 4 };
  const texts = new Map();

  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const cell = (row, column) => row.cells[column].textContent;

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(choices)
      .map(([name, column]) => [column, document.getElementById(name).value])
      .filter(([, value]) => value);
    let shown = 0;
    for (const row of rows) {
      const fits = chosen.every(([column, value]) => cell(row, column) === value)
        && wanted.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    document.getElementById("count").value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} attempts`;
  };

  const sort = (header, column) => {
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = header.classList.contains("number");
    const order = new Intl.Collator("en", { numeric: true });
    const keyed = rows.map((row) => [numeric ? parseFloat(cell(row, column)) : cell(row, column), row]);
    const unknown = (key) => key === "" || Number.isNaN(key);
    keyed.sort(([one], [other]) => {
      // What has no value comes last either way.
      if (unknown(one) || unknown(other)) return unknown(one) - unknown(other);
      const compared = numeric ? one - other : order.compare(one, other);
      return down ? -compared : compared;
    });
    body.append(...keyed.map(([, row]) => row));
  };

  for (const [column, header] of Array.from(table.tHead.rows[0].cells).entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(header, column));
    header.replaceChildren(button);
  }
  for (const [name, column] of Object.entries(choices)) {
    const select = document.getElementById(name);
    const values = new Set(rows.map((row) => cell(row, column)).filter(Boolean));
    for (const value of Array.from(values).sort()) select.add(new Option(value, value));
    select.addEventListener("change", filter);
  }
  words.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
