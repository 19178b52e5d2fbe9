// A receiver of webhooks behind TLS. Two libraries check each message, and one that both accept is kept as a line.
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const server = createServer({ cert: readFileSync("cert.pem"), key: readFileSync("key.pem") });
server.on("request", async (request, response) => {
  try {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const headers = request.headers as Record<string, string>;
    const secret = readFileSync("secret", "utf8");
    new Standard(secret).verify(body, headers);
    new Svix(secret).verify(body, headers);
    appendFileSync("accepted", `${JSON.stringify({ headers, body })}\n`);
    response.writeHead(204).end();
  } catch (refusal) {
    // One that its sender has broken off is no message.
    if (request.complete) appendFileSync("refused", `${refusal}\n`);
    response.writeHead(400).end();
  }
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => {
  console.log((server.address() as AddressInfo).port);
});
