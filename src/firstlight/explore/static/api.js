// Requests to the server that served this page, and to nobody else.

export async function get(path, options = {}) {
  return answer(await ask(path, options));
}

export async function post(path, body) {
  return answer(await ask(path, { method: "POST", body: JSON.stringify(body) }));
}

const GONE = "The program behind this page does not answer. Start it again: firstlight explore.";

async function ask(path, options) {
  if (options.body instanceof Blob) await readable(options.body);
  return fetch(path, options).catch(said);
}

// a browser holds a file as it was chosen, and would blame the line for one that has changed since
async function readable(file) {
  await file.slice(0, 1).arrayBuffer().catch(() => {
    throw new Error(`${file.name}: has changed since it was chosen, or is no file. Choose it again.`);
  });
}

// what a browser says of a broken line is of no use to a reader
function said(error) {
  throw error instanceof TypeError ? new Error(GONE) : error;
}

async function answer(response) {
  const text = await response.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(text || response.statusText);
  }
  if (!response.ok) throw new Error(found.error || response.statusText);
  return found;
}

// Read server-sent events; ends with the stream, or when the signal aborts it.
export async function stream(path, told, signal, options = {}) {
  const response = await ask(path, { signal, ...options });
  if (!response.ok) {
    await answer(response);
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(said);
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (part.startsWith("event: end")) return;
      await told(JSON.parse(part.slice("data: ".length)));
    }
  }
}

export const query = (values, theme) => new URLSearchParams({ values: JSON.stringify(values), theme }).toString();
