import { createClient } from '../../sdk/typescript/src/index.ts';

const [ticket, answer] = process.argv.slice(2);
if (ticket === undefined || (answer !== 'yes' && answer !== 'no')) {
  console.error('usage: approve.ts <ticket> yes|no');
  process.exit(2);
}

const client = createClient();
// A ticket is approved once: the id makes a second click count as the first.
const { outcome } = await client.publish({
  event: 'approval',
  key: `ticket/${ticket}`,
  payload: { approved: answer === 'yes' },
  eventId: `approval-of-${ticket}`,
});
console.log({ delivered: 'the run goes on', parked: 'kept until a run asks', duplicate: 'answered before' }[outcome]);
client.close();
