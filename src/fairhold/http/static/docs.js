"use strict";
// Shows openapi.json, and lets one try each operation.

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function described(method, path, operation, schemas) {
  const head = element("summary", "", element("code", `${method.toUpperCase()} ${path}`), ` ${operation.summary}`);
  const box = element("details", "", head, element("p", operation.description || ""));
  const inputs = (operation.parameters || []).map((parameter) => {
    const input = element("input");
    input.placeholder = parameter.description || parameter.schema.default || "";
    box.append(element("label", `${parameter.name} (${parameter.in}) `, input));
    return [parameter, input];
  });
  let body = null;
  const [kind, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (content) {
    body = element("textarea");
    body.dataset.kind = kind;
    body.value = kind === "application/json" ? JSON.stringify(content.example ?? {}, null, 2) : content.example;
    const name = (content.schema.$ref || "").split("/").pop();
    box.append(element("label", "Body", body));
    box.append(element("details", "", element("summary", `What a body may say: ${name}`),
      element("pre", JSON.stringify(schemas[name] ?? content.schema, null, 2))));
  }
  for (const [status, response] of Object.entries(operation.responses)) {
    box.append(element("p", `${status}: ${response.description}`));
  }
  const button = element("button", "Send");
  const answer = element("pre", "");
  button.addEventListener("click", () => send(method, path, inputs, body, answer));
  box.append(button, answer);
  return box;
}

async function send(method, path, inputs, body, answer) {
  const headers = new Headers({ Authorization: `Bearer ${document.getElementById("key").value}` });
  const query = new URLSearchParams();
  for (const [parameter, input] of inputs) {
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (parameter.in === "query" && input.value) query.set(parameter.name, input.value);
    else if (parameter.in === "header" && input.value) headers.set(parameter.name, input.value);
  }
  if (body) headers.set("Content-Type", body.dataset.kind);
  const address = query.size ? `${path}?${query}` : path;
  const response = await fetch(address, { method: method.toUpperCase(), headers, body: body ? body.value : undefined });
  const text = await response.text();
  try {
    answer.textContent = `${response.status}\n${JSON.stringify(JSON.parse(text), null, 2)}`;
  } catch {
    answer.textContent = `${response.status}\n${text}`;
  }
}

async function show() {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("about").textContent = api.info.description;
  const main = document.getElementById("operations");
  const schemas = api.components.schemas;
  for (const { name } of api.tags) {
    main.append(element("h2", name));
    for (const [path, operations] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        if (operation.tags.includes(name)) main.append(described(method, path, operation, schemas));
      }
    }
  }
  const problems = new Map();
  for (const operations of Object.values(api.paths)) {
    for (const operation of Object.values(operations)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        for (const [, code, title] of response.description.matchAll(/`(\w+)`: ([^;]*)/g)) {
          problems.set(code, `${status}: ${title}`);
        }
      }
    }
  }
  const list = document.getElementById("problems");
  for (const [code, text] of [...problems].sort()) {
    const term = element("dt", code);
    term.id = code;
    list.append(term, element("dd", text));
  }
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

show();
