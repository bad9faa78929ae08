import { connect } from 'node:net';

/** Sends bytes as they are, and returns everything that comes back until the connection ends. */
export const sendBytes = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (piece) => (text += piece.toString()));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
