// Asking the server. A token lives in this module's memory alone.
let token = null;
let asking = null;

const dialog = document.getElementById("ask");
const field = document.getElementById("token");
const refused = document.getElementById("refused");
const forget = document.getElementById("forget");

// Several requests may be refused at once: they share one dialog.
const ask = message => {
  refused.textContent = message;
  asking ??= new Promise(done => {
    dialog.showModal();
    document.getElementById("token-form").onsubmit = event => {
      event.preventDefault();
      token = field.value.trim();
      field.value = "";
      forget.hidden = false;
      dialog.close();
      asking = null;
      done();
    };
  });
  return asking;
};
// Without a token there is nothing behind the dialog.
dialog.addEventListener("cancel", event => event.preventDefault());
forget.addEventListener("click", () => { token = null; location.reload(); });

const send = async (path, options = {}) => {
  for (;;) {
    const used = token;
    const headers = { ...options.headers };
    if (used) headers.authorization = "Bearer " + used;
    const answer = await fetch(path, { ...options, headers, cache: "no-store" });
    if (answer.status !== 401) return answer;
    if (used === token) await ask(used ? "That token is not known here." : "");
  }
};

export class Refused extends Error {}

// The JSON of an answer; an error has the server's own words.
export const json = async (path, body) => {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await send(path, options);
  const told = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(told?.error?.message ?? "The server answered " + answer.status + ".");
  return told;
};

const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

// Server-sent events, again and again until `signal` aborts. (EventSource cannot send a token.)
export const listen = async (path, signal, on) => {
  let wait = 500;
  while (!signal.aborted) {
    try {
      const answer = await send(path, { headers: { accept: "text/event-stream" }, signal });
      if (answer.status === 404) return on("deleted", null);
      if (!answer.ok) throw new Error();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      on("up", null);
      wait = 500;
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          let name = "message";
          const data = [];
          for (const line of block.split("\n")) {
            if (line.startsWith("event:")) name = line.slice(6).trim();
            else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
          }
          if (data.length > 0) on(name, JSON.parse(data.join("\n")));
          if (name === "deleted") return;
        }
      }
    } catch {
      // Told below: the connection is gone, whatever the reason.
    }
    if (signal.aborted) return;
    on("down", null);
    await pause(wait);
    wait = Math.min(2 * wait, 8000);
  }
};
