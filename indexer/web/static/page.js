// What makes the page quicker. Everything works without it: it only saves page loads.

const form = document.getElementById("search");

// Search: show the answer in place, under its own address.
if (form) {
  const here = () => location.pathname + location.search;
  let asked, shown = here();
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
      document.getElementById("announcement").textContent = document.getElementById("said").textContent;
      if (push) history.pushState(null, "", address);
      shown = here();
      const again = active?.name && [...document.getElementsByName(active.name)].find((one) => one.value === active.value);
      again?.focus({ preventScroll: true });
      awaitEncoder();
      suggest();
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
  // Completion while typing: what is in the collection and begins so.
  const box = document.getElementById("q"), list = document.getElementById("completions");
  let typing;
  box.addEventListener("input", (event) => {
    clearTimeout(typing);
    if (event.inputType === "insertReplacementText" || box.value.trim().length < 2) return;
    typing = setTimeout(async () => {
      const answer = await fetch(`/api/completions?${new URLSearchParams({ q: box.value.slice(0, 200) })}`).catch(() => null);
      if (!answer?.ok) return;
      const options = (await answer.json()).map(({ kind, text, documents }) => {
        const option = document.createElement("option");
        option.value = text;
        option.label = kind === "title" ? "title" : `${kind}, ${documents.toLocaleString("en")} document${documents === 1 ? "" : "s"}`;
        return option;
      });
      list.replaceChildren(...options);
    }, 120);
  });
  suggest();
  // A step to another place of the same page is one, too: that is the browser's.
  addEventListener("popstate", () => { if (here() !== shown) location.reload(); });
}

// What says the same in other words: it comes after the hits, which do not wait for it.
async function suggest() {
  const note = document.getElementById("also");
  const answer = note && await fetch(`/api/other-phrases?${new URLSearchParams({ q: note.dataset.query })}`).catch(() => null);
  if (!answer?.ok) return;
  for (const { phrase } of await answer.json()) {
    const link = Object.assign(document.createElement("a"), { href: `/?${new URLSearchParams({ q: phrase })}`, textContent: phrase, dir: "auto" });
    note.append(" ", link);
    note.hidden = false;
  }
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

// A document: what is like the chosen phrase, in its sentence and alone, without leaving the text.
const near = document.querySelector("dialog.near");
if (near) {
  const SHOWN = 6;
  const made = (name, text = "", className = "") => Object.assign(document.createElement(name), { textContent: text, className });
  const link = (address, text) => Object.assign(made("a", text), { href: address });
  const ask = async (given) => {
    const answer = await fetch(`/api/phrases?${new URLSearchParams(given)}`);
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };
  // "the cell [[membrane]] is thin" as text, with the phrase marked.
  const sentence = (marked) => {
    const [before, phrase, behind] = marked.split(/\[\[|\]\]/), found = made("p", before, "text");
    found.append(made("mark", phrase), behind);
    return found;
  };
  const listed = (rows) => { const list = made("ul", "", "plain"); list.append(...rows); return list; };
  // Marks count characters, and strings of a script do not.
  const inSentence = (one) => {
    const found = made("span"), letters = [...one.sentence];
    let at = 0;
    for (const [start, end] of one.marks) {
      found.append(letters.slice(at, start).join(""), made("mark", letters.slice(start, end).join("")));
      at = end;
    }
    found.append(letters.slice(at).join(""));
    return found;
  };
  const mention = (one) => {
    const row = made("li");
    row.append(inSentence(one), " ", link(`/document?${new URLSearchParams({ id: one.document.id })}`, one.document.title || one.document.id), made("span", ` ${one.score.toFixed(2)}`, "soft"));
    return row;
  };
  const alone = (one) => {
    const row = made("li"), documents = `${one.documents} document${one.documents === 1 ? "" : "s"}`;
    row.append(link(`/?${new URLSearchParams({ q: `"${one.phrase}"` })}`, one.phrase), made("span", ` ${one.score.toFixed(2)}, ${documents}`, "soft"));
    return row;
  };
  const id = new URLSearchParams(location.search).get("id");
  const itself = (one, phrase) => one.document.id === id && one.phrase.toLowerCase() === phrase.toLowerCase();
  // The open item is in the address, after the #: it can be linked, and Back closes it.
  const chosen = () => new URLSearchParams(location.hash.slice(1));
  let byBack = false;  // the event of a closed dialog comes later: Forward may have been pressed before it
  const show = async () => {
    const hash = location.hash, phrase = chosen().get("phrase"), context = chosen().get("in");
    if (!phrase) { byBack = near.open; return near.close(); }
    const list = document.getElementById("near-list");
    document.getElementById("near-title").textContent = `Like “${phrase}”`;
    list.replaceChildren(made("p", "Looking …", "soft"));
    if (!near.open) near.showModal();
    const all = `/phrases?${new URLSearchParams(context ? { in: context } : { phrase })}`;
    try {
      const [inside, outside] = await Promise.all([context && ask({ in: context, limit: SHOWN + 1 }), ask({ phrase, limit: SHOWN })]);
      if (location.hash !== hash) return;
      const parts = [];
      if (inside) {
        const others = inside.mentions.filter((one) => !itself(one, phrase)).slice(0, SHOWN);
        parts.push(made("h3", "In this sentence"), sentence(context), listed(others.map(mention)), link(all, "All in such sentences"));
      }
      parts.push(made("h3", "The phrase alone"), listed(outside.phrases.map(alone)), link(`/phrases?${new URLSearchParams({ phrase })}`, "All like it"));
      list.replaceChildren(...parts);
    } catch {
      if (location.hash === hash) location.replace(all);
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-phrase]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const context = new URL(link.href).searchParams.get("in");
    history.pushState({ near: true }, "", `#${new URLSearchParams({ phrase: link.dataset.phrase, ...(context && { in: context }) })}`);
    show();
  });
  near.addEventListener("click", (event) => { if (event.target === near) near.close(); });
  near.addEventListener("close", () => {
    if (byBack || !chosen().get("phrase")) { byBack = false; return; }
    if (history.state?.near) history.back();
    else history.replaceState(null, "", location.pathname + location.search);
  });
  addEventListener("popstate", show);
  show();
}

// Operations: progress of tasks; when one ends, the page is reloaded.
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
