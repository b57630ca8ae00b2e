import { expect, test } from '@jest/globals';
import { isPush, requestText, RespFramer } from '../../faults/proxy/resp-frames.js';

const values = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':1\r\n',
  '$-1\r\n',
  '$0\r\n\r\n',
  '$7\r\na\r\nb€\r\n',
  '*-1\r\n',
  '*0\r\n',
  '*2\r\n$1\r\na\r\n*1\r\n:1\r\n',
  '%1\r\n+key\r\n*1\r\n#t\r\n',
  '|1\r\n+ttl\r\n:1\r\n_\r\n',
  '>2\r\n+invalidate\r\n_\r\n',
  '=8\r\ntxt:some\r\n',
];

test('values come whole and one by one, wherever the packets end', () => {
  const stream = Buffer.from(values.join(''));
  for (let size = 1; size <= stream.length; size++) {
    const framer = new RespFramer();
    const frames: string[] = [];
    for (let at = 0; at < stream.length; at += size) {
      frames.push(...framer.push(stream.subarray(at, at + size)).map(String));
    }
    expect(frames).toEqual(values);
  }
});

test('a request reads as one would type it', () => {
  expect(requestText(Buffer.from('*3\r\n$3\r\nset\r\n$3\r\n€\r\n$1\r\n1\r\n'))).toBe('set € 1');
  expect(requestText(Buffer.from('PING\r\n'))).toBe('PING');
});

test('messages out of turn are told from replies', () => {
  expect(values.filter((value) => isPush(Buffer.from(value)))).toEqual(['>2\r\n+invalidate\r\n_\r\n']);
});
