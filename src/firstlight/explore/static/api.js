// Requests to the server that served this page, and to nobody else.

export async function get(path, options = {}) {
  return answer(await fetch(path, options));
}

export async function post(path, body) {
  return answer(await fetch(path, { method: "POST", body: JSON.stringify(body) }));
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
  const response = await fetch(path, { signal, ...options });
  if (!response.ok) {
    await answer(response);
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
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
