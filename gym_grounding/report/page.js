"use strict";
(() => {
  const form = document.querySelector("form.filters");
  const boxes = [...form.querySelectorAll('input[name="method"]')];
  const SELECTS = ["task", "condition", "slot"];
  const MISSING = new Set(["", "–", "?"]);
  const collator = new Intl.Collator("en", { numeric: true });
  const headed = document.createElement("template");

  // A row's task may be written with or without its suite
  const plain = (field, value) => (field === "task" ? value.slice(value.lastIndexOf("-") + 1) : value);

  const tables = [...document.querySelectorAll("main table")].map((table) => {
    const heads = [...table.tHead.rows[0].cells];
    const places = new Map(heads.map((head, place) => [head.dataset.key, place]));
    const body = table.tBodies[0];
    return { table, heads, places, body, rows: [...body.rows], sorted: null, empty: null };
  });

  const has = (one, field) =>
    one.places.has(field) || field in one.table.dataset || (one.rows[0] && field in one.rows[0].dataset);

  const valueOf = (one, row, field) => {
    if (one.places.has(field)) return plain(field, row.cells[one.places.get(field)].textContent);
    return plain(field, row.dataset[field] ?? one.table.dataset[field] ?? "");
  };

  const wanted = () => {
    const state = new Map();
    const names = boxes.filter((box) => box.checked).map((box) => box.value);
    if (names.length < boxes.length) state.set("method", new Set(names));
    for (const name of SELECTS) {
      const value = form.elements[name].value;
      if (value) state.set(name, new Set([plain(name, value)]));
    }
    return state;
  };

  // Names are printed once for neighbouring rows that share them, whatever rows are shown and in whatever order
  const regroup = (one) => {
    let before = null;
    for (const row of one.body.rows) {
      if (row.hidden) continue;
      const name = row.cells[0].textContent;
      row.cells[0].classList.toggle("repeat", name === before);
      row.classList.toggle("group", before !== null && name !== before);
      before = name;
    }
  };

  const nothing = (one, none) => {
    if (none && !one.empty) {
      one.empty = document.createElement("p");
      one.empty.className = "empty";
      one.empty.textContent = "No row fits the filters.";
      one.table.parentElement.after(one.empty);
    }
    if (one.empty) one.empty.hidden = !none;
  };

  let narrowed = false;
  const apply = () => {
    const state = wanted();
    let shown = 0;
    let total = 0;
    if (state.size || narrowed) {
      for (const one of tables) {
        const fields = [...state.keys()].filter((field) => has(one, field));
        for (const row of one.rows) {
          row.hidden = fields.some((field) => !state.get(field).has(valueOf(one, row, field)));
        }
        nothing(one, one.rows.length > 0 && one.rows.every((row) => row.hidden));
        regroup(one);
      }
      const apart = (part) => [...state].some(([field, values]) =>
        field in part.dataset && !values.has(plain(field, part.dataset[field])));
      for (const part of document.querySelectorAll("main figure, main section.films, main details")) {
        part.hidden = apart(part);
      }
    }
    narrowed = state.size > 0;
    for (const one of tables) {
      total += one.rows.length;
      shown += one.rows.length;
      if (narrowed) for (const row of one.rows) shown -= row.hidden;
    }
    form.elements.count.value = `${shown} of ${total} rows`;
  };

  const words = (cell) => (cell?.firstChild ? cell.firstChild.textContent.trim() : "");

  const number = (cell) => {
    const found = words(cell).replaceAll("−", "-").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return found ? Number(found[0]) : NaN;
  };

  // Rows with a value in order, ties as they were; rows without one stay last in both directions
  const ordered = (one, place, direction) => {
    const numeric = one.heads[place].classList.contains("num");
    const keyed = one.rows.map((row) => [row, numeric ? number(row.cells[place]) : words(row.cells[place])]);
    const missing = (key) => (numeric ? Number.isNaN(key) : MISSING.has(key));
    const compare = numeric ? (a, b) => a - b : collator.compare;
    return [
      ...keyed.filter(([, key]) => !missing(key)).sort(([, a], [, b]) => direction * compare(a, b)),
      ...keyed.filter(([, key]) => missing(key)),
    ].map(([row]) => row);
  };

  const sort = (one, place) => {
    const first = one.heads[place].classList.contains("num") ? -1 : 1;
    const last = one.sorted?.place === place ? one.sorted.direction : null;
    const direction = last === null ? first : last === first ? -first : null;
    for (const head of one.heads) head.removeAttribute("aria-sort");
    one.sorted = direction === null ? null : { place, direction };
    if (direction !== null) one.heads[place].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    one.body.append(...(direction === null ? one.rows : ordered(one, place, direction)));
    regroup(one);
  };

  const remember = () => {
    const state = new URLSearchParams();
    if (boxes.some((box) => !box.checked)) {
      const names = boxes.filter((box) => box.checked).map((box) => box.value);
      for (const name of names.length ? names : [""]) state.append("method", name);
    }
    for (const name of SELECTS) if (form.elements[name].value) state.set(name, form.elements[name].value);
    const parts = [anchor(), state.toString()].filter(Boolean);
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  };

  const pieces = () => location.hash.slice(1).split("&").filter(Boolean);
  const anchor = () => pieces().find((piece) => !piece.includes("=")) ?? "";

  const clear = () => {
    for (const box of boxes) box.checked = true;
    for (const name of SELECTS) form.elements[name].value = "";
  };

  const show = (name) => {
    let place = null;
    try {
      place = document.getElementById(decodeURIComponent(name));
    } catch { /* a broken address names nothing */ }
    if (!place) return;
    for (let part = place; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    place.scrollIntoView();
  };

  const recall = () => {
    const state = new URLSearchParams(pieces().filter((piece) => piece.includes("=")).join("&"));
    if ([...state.keys()].length) {
      clear();
      const names = state.getAll("method");
      if (names.length) for (const box of boxes) box.checked = names.includes(box.value);
      for (const name of SELECTS) if (state.has(name)) form.elements[name].value = state.get(name);
      for (const name of SELECTS) if (form.elements[name].selectedIndex < 0) form.elements[name].value = "";
    }
    apply();
    remember();
    if (anchor()) show(anchor());
  };

  headed.innerHTML = '<button type="button"></button>';
  tables.forEach((one) => one.heads.forEach((head) => {
    const button = headed.content.firstChild.cloneNode();
    button.textContent = head.textContent;
    head.replaceChildren(button);
  }));
  document.querySelector("main").addEventListener("click", (event) => {
    const head = event.target.closest("thead th");
    const one = head && tables.find((table) => table.table === head.closest("table"));
    if (one) sort(one, head.cellIndex);
  });
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("reset", (event) => {
    event.preventDefault();  // the browser's own reset comes after this event, when nobody is told
    clear();
    apply();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", recall);
  form.hidden = false;
  document.documentElement.classList.add("scripted");
  recall();
})();
