// SPDX-License-Identifier: MIT
// usage: node openai.mjs CLIENTS WANTED, the latter as test_clients.py says
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [clients, json] = process.argv.slice(2);
const wanted = JSON.parse(json);
const OpenAI = createRequire(`${clients}/package.json`)("openai");
const client = new OpenAI({
  baseURL: `${wanted.url}/v1`, apiKey: wanted.key,
  maxRetries: wanted.retries ?? 0,
});
const request = {
  model: wanted.model,
  messages: [{ role: "user", content: wanted.prompt }],
  max_tokens: 12,
};

async function answers() {
  const whole = await client.chat.completions.create(request);
  assert.equal(whole.choices[0].message.content, wanted.short);
  assert.equal(whole.usage.completion_tokens, 12);
}

async function streams() {
  const stream = await client.chat.completions.create({
    ...request, max_tokens: 50, stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage = null;
  for await (const event of stream) {
    text += event.choices[0]?.delta?.content ?? "";
    usage = event.usage ?? usage;
  }
  assert.equal(text, wanted.long);
  assert.equal(usage.completion_tokens, 50);
}

async function errors() {
  await assert.rejects(
    client.chat.completions.create({ ...request, model: "nobody's" }),
    (error) => error instanceof OpenAI.NotFoundError &&
      error.code === "model_not_found");
  await assert.rejects(
    client.chat.completions.create({ ...request, messages: "none" }),
    OpenAI.BadRequestError);
}

if (wanted.fails) {
  await assert.rejects(client.chat.completions.create(request),
    (error) => error instanceof OpenAI.APIError &&
      error.status === wanted.fails);
} else {
  await answers();
  await streams();
  await errors();
}
console.log("good");
