// SPDX-License-Identifier: MIT
// usage: node anthropic.mjs CLIENTS WANTED, the latter as test_clients.py says
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [clients, json] = process.argv.slice(2);
const wanted = JSON.parse(json);
const Anthropic = createRequire(`${clients}/package.json`)("@anthropic-ai/sdk");
const client = new Anthropic({
  baseURL: wanted.url, apiKey: wanted.key, maxRetries: wanted.retries ?? 0,
});
const request = {
  model: wanted.model,
  messages: [{ role: "user", content: wanted.prompt }],
  max_tokens: 12,
};

async function answers() {
  const whole = await client.messages.create(request);
  assert.equal(whole.content[0].text, wanted.short);
  assert.equal(whole.usage.output_tokens, 12);
}

async function streams() {
  const stream = client.messages.stream({ ...request, max_tokens: 50 });
  let text = "";
  stream.on("text", (piece) => { text += piece; });
  const final = await stream.finalMessage();
  assert.equal(text, wanted.long);
  assert.equal(final.usage.output_tokens, 50);
}

async function errors() {
  await assert.rejects(
    client.messages.create({ ...request, model: "nobody's" }),
    Anthropic.NotFoundError);
  await assert.rejects(
    client.messages.create({ ...request, messages: "none" }),
    Anthropic.BadRequestError);
}

if (wanted.fails) {
  await assert.rejects(client.messages.create(request),
    (error) => error instanceof Anthropic.APIError &&
      error.status === wanted.fails);
} else {
  await answers();
  await streams();
  await errors();
}
console.log("good");
