"use strict";
(() => {
  const form = document.querySelector("form.filters");
  const rows = [...document.querySelectorAll("tr[data-state]")];
  const sections = [...document.querySelectorAll("section.task")];
  const nothing = document.getElementById("nothing");
  const boxes = (name) => [...form.querySelectorAll(`input[name="${name}"]`)];
  const checked = (name) => boxes(name).filter((box) => box.checked).map((box) => box.value);
  const section = new Map(rows.map((row) => [row, row.closest("section").id]));

  const fits = (row, wanted) =>
    wanted.state.has(row.dataset.state) &&
    wanted.condition.has(row.dataset.condition) &&
    (!wanted.slot || row.dataset.slot === wanted.slot) &&
    (!wanted.tier || row.dataset.tier === wanted.tier) &&
    (!wanted.task || section.get(row) === wanted.task) &&
    wanted.words.every((word) => row.dataset.words.includes(word));

  const apply = () => {
    const wanted = {
      state: new Set(checked("state")),
      condition: new Set(checked("condition")),
      slot: form.elements.slot.value,
      tier: form.elements.tier.value,
      task: form.elements.task.value,
      words: form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean),
    };
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row, wanted);
      shown += !row.hidden;
    }
    for (const one of sections) {
      for (const body of one.querySelectorAll("tbody")) {
        body.hidden = !body.querySelector("tr[data-state]:not([hidden])");
      }
      one.hidden = !one.querySelector("tr[data-state]:not([hidden])");
    }
    nothing.hidden = shown > 0;
    form.elements.count.value = `${shown} of ${rows.length} rows`;
  };

  const remember = () => {
    const state = new URLSearchParams();
    for (const name of ["text", "slot", "tier", "task"]) {
      if (form.elements[name].value) state.set(name, form.elements[name].value);
    }
    for (const name of ["condition", "state"]) {
      if (boxes(name).some((box) => box.checked !== box.defaultChecked)) state.set(name, checked(name).join(","));
    }
    history.replaceState(null, "", `#${state}`);
  };

  const clear = () => {
    for (const name of ["text", "slot", "tier", "task"]) form.elements[name].value = "";
    for (const name of ["condition", "state"]) {
      for (const box of boxes(name)) box.checked = box.defaultChecked;
    }
  };

  const recall = () => {
    const hash = location.hash.slice(1);
    const named = document.getElementById(hash);
    if (named?.closest("main")) {
      apply();
      if (named.closest("[hidden]")) {
        clear();
        apply();
      }
      named.scrollIntoView();
      return;
    }
    clear();
    const state = new URLSearchParams(hash);
    for (const name of ["text", "slot", "tier", "task"]) {
      if (state.has(name)) form.elements[name].value = state.get(name);
    }
    for (const name of ["condition", "state"]) {
      if (!state.has(name)) continue;
      const values = state.get(name).split(",");
      for (const box of boxes(name)) box.checked = values.includes(box.value);
    }
    apply();
  };

  const point = (row, on) => {
    const names = row ? (row.dataset.regions ?? "").split(" ").filter(Boolean) : [];
    const place = row?.closest("section");
    for (const shape of place?.querySelectorAll("polygon") ?? []) {
      shape.classList.toggle("on", on && names.includes(shape.dataset.region));
    }
  };

  for (const [begin, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(begin, (event) => point(event.target.closest("tr[data-regions]"), true));
    document.addEventListener(end, (event) => point(event.target.closest("tr[data-regions]"), false));
  }
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
  recall();
})();
