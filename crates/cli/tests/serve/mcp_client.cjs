// The official client of TypeScript claims a task and completes it.
// node mcp_client.cjs SDK stdio PROGRAM ARGUMENTS… | node mcp_client.cjs SDK http URL TOKEN
const { createRequire } = require('node:module');
const path = require('node:path');

const [sdk, way, ...rest] = process.argv.slice(2);
const load = createRequire(path.join(sdk, 'client.js'));
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');

function transport() {
  if (way === 'stdio') {
    const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
    return new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env });
  }
  const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const headers = { Authorization: `Bearer ${rest[1]}` };
  return new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers } });
}

async function main() {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport());
  const call = async (name, args) => {
    const answer = await client.callTool({ name, arguments: args });
    if (answer.isError) throw new Error(`${name}: ${JSON.stringify(answer)}`);
    return answer.structuredContent;
  };
  const { tools } = await client.listTools();
  const { hold, task } = await call('claim_task', { worker: 'typescript' });
  await call('start_task', { task: hold.task });
  await call('report_progress', { task: hold.task, text: 'half of it' });
  await call('heartbeat_task', { task: hold.task, epoch: hold.epoch });
  const done = await call('complete_task', { task: hold.task, summary: 'done in TypeScript', epoch: hold.epoch });
  const refused = await client.callTool({ name: 'complete_task', arguments: { task: hold.task, summary: 'again' } });
  const story = await client.readResource({ uri: `callboard://task/${hold.task}` });
  const said = {
    tools: tools.map((tool) => tool.name),
    title: task.title,
    state: done.task.state.lifecycle,
    refused: refused.isError === true && refused.structuredContent.error.code,
    story: JSON.parse(story.contents[0].text).story.claims.length,
    server: client.getServerVersion().name,
  };
  process.stdout.write(`${JSON.stringify(said)}\n`);
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
