import { expect, test } from 'vitest';
import { requestsToOthers } from './site-requests.ts';

test('a page that loads scripts, styles, fonts or images of another host is found', () => {
  const page = `<script src="https://a.example/x.js"></script><link rel="stylesheet" href="//b.example/x.css">
    <style>@import "https://c.example/font"; p { background: url(https://d.example/x.png) }</style>
    <img alt="" src="https://e.example/x.png">`;
  const hosts = requestsToOthers(page).map((url) => new URL(url, 'https://x').hostname);
  expect(hosts.toSorted()).toEqual(['a.example', 'b.example', 'c.example', 'd.example', 'e.example']);
});

test('what a person may follow, and what the site itself has, is no request to another host', () => {
  const page = '<a href="https://a.example">x</a><script src="/assets/app.js"></script>';
  expect(requestsToOthers(page)).toEqual([]);
});
