// What makes the page quicker. Everything works without it: it only saves loading a page anew.

const form = document.getElementById("search");

// Search: show the answer in place, under its own address.
if (form) {
  let asked;
  const show = async (address, push) => {
    asked?.abort();
    asked = new AbortController();
    const mine = asked, live = document.querySelector("[data-live]");
    live.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { signal: asked.signal, headers: { Accept: "text/html" } });
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.redirected || !next.querySelector("[data-live]")) return location.assign(address);
      const active = document.activeElement;
      document.querySelector("[data-live]").replaceWith(next.querySelector("[data-live]"));
      document.title = next.title;
      document.getElementById("told").textContent = document.getElementById("said").textContent;
      if (push) history.pushState(null, "", address);
      const again = active?.name && [...document.getElementsByName(active.name)].find((one) => one.value === active.value);
      again?.focus({ preventScroll: true });
      awaitEncoder();
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    } finally {
      if (asked === mine) document.querySelector("[data-live]").removeAttribute("aria-busy");
    }
  };
  // Found by words, because the encoder is not there yet: as soon as it is, by meaning too.
  let awaiting;
  const awaitEncoder = () => {
    clearTimeout(awaiting);
    if (!document.querySelector("[data-waits]")) return;
    awaiting = setTimeout(async () => {
      const ready = await fetch("/health/ready").catch(() => null);
      if (ready?.ok && document.querySelector("[data-waits]")) show(location.href, false);
      else awaitEncoder();
    }, 1000);
  };
  awaitEncoder();
  const address = () => {
    const said = [...new FormData(form)].filter(([, value]) => value);
    const kept = said.filter(([name, value]) => name !== "mode" || value !== "both");
    return kept.length ? `/?${new URLSearchParams(kept)}` : "/";
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); show(address(), true); });
  document.addEventListener("change", (event) => {
    if (event.target.form === form && event.target.matches("[type=checkbox], [type=radio]")) show(address(), true);
  });
  addEventListener("popstate", () => location.reload());
}

// "/" goes to the search box, as in many catalogues.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea")) return;
  const box = document.querySelector("input[type=search]");
  if (box) { event.preventDefault(); box.focus(); }
});

// Map and table: what is under the pointer in one, or chosen by keyboard, is lit in the other, with its name.
for (const name of ["pointerover", "pointerout", "focusin", "focusout"]) {
  document.addEventListener(name, (event) => {
    const id = event.target.closest?.("[data-topic]")?.dataset.topic;
    if (!id) return;
    for (const one of document.querySelectorAll(`[data-topic="${CSS.escape(id)}"]`)) one.classList.toggle("lit", name === "pointerover" || name === "focusin");
  });
}

// A document: phrases that are like the chosen one, without leaving the text.
const near = document.querySelector("dialog.near");
if (near) {
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-phrase]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const phrase = link.dataset.phrase;
    const answer = await fetch(`/api/phrases?${new URLSearchParams({ phrase, limit: 10 })}`);
    if (!answer.ok) return location.assign(link.href);
    const list = document.createElement("ul");
    list.className = "plain";
    for (const one of (await answer.json()).phrases) {
      const row = document.createElement("li"), to = document.createElement("a"), about = document.createElement("span");
      to.href = `/?${new URLSearchParams({ q: `"${one.phrase}"` })}`;
      to.textContent = one.phrase;
      about.className = "soft";
      about.textContent = ` ${one.score.toFixed(2)}, ${one.documents} document${one.documents === 1 ? "" : "s"}`;
      row.append(to, about);
      list.append(row);
    }
    const more = document.createElement("a");
    more.href = link.href;
    more.textContent = "All of them";
    document.getElementById("near-title").textContent = `Like “${phrase}”`;
    document.getElementById("near-list").replaceChildren(list, more);
    near.showModal();
  });
  near.addEventListener("click", (event) => { if (event.target === near) near.close(); });
}

// Operations: how far tasks are; when one ends, everything is looked at anew.
if (document.querySelector("[data-tasks]")) {
  const open = () => [...document.querySelectorAll("[data-task]")].filter((one) => ["running", "waiting", "with workers"].includes(one.dataset.state));
  const look = async () => {
    for (const row of open()) {
      const answer = await fetch(`/api/tasks/${row.dataset.task}`);
      if (!answer.ok) return;
      const task = await answer.json();
      if (task.state !== row.dataset.state) return location.reload();
      const bar = row.querySelector("progress");
      if (bar && task.total) { bar.max = task.total; bar.value = task.done; }
      const stage = row.querySelector(".stage");
      if (stage) stage.textContent = `${task.stage} ${task.done || ""}${task.done && task.total ? ` of ${task.total}` : ""}`;
    }
    if (open().length) setTimeout(look, 1000);
  };
  if (open().length) setTimeout(look, 1000);
}
