/**
 * The script of the pages with passkeys. It stands in the page itself, and its hash in the page's policy. A button says what
 * it posts; what a passkey signs comes from the webhook, and its answer goes there. Options are read by hand, since not
 * every browser in use has `parseRequestOptionsFromJSON`.
 */
export const PASSKEY_SCRIPT = `
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
const textOf = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const post = async (path, body) => {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
};
const withBytes = (options) => ({
  ...options,
  challenge: bytesOf(options.challenge),
  ...(options.user && { user: { ...options.user, id: bytesOf(options.user.id) } }),
  ...(options.excludeCredentials && {
    excludeCredentials: options.excludeCredentials.map((each) => ({ ...each, id: bytesOf(each.id) })),
  }),
});
const answerOf = ({ id, rawId, type, response }) => {
  const members = ['clientDataJSON', 'authenticatorData', 'signature', 'attestationObject'];
  const texts = members.filter((name) => response[name]).map((name) => [name, textOf(response[name])]);
  return { id, rawId: textOf(rawId), type, clientExtensionResults: {}, response: Object.fromEntries(texts) };
};
const reasonOf = (error) => {
  if (error.name === 'NotAllowedError') return 'Nothing changed: the passkey was not used.';
  if (error.name === 'InvalidStateError') return 'This passkey is an approver already.';
  if (error.name === 'TypeError' || error.name === 'SyntaxError') return 'The webhook did not answer. Try again.';
  return error.message.charAt(0).toUpperCase() + error.message.slice(1) + '.';
};
const status = document.getElementById('outcome');
const buttons = [...document.querySelectorAll('button[data-post]')];
const enable = (on) => buttons.forEach((button) => (button.disabled = !on));
const act = async (button) => {
  const { post: path, ceremony, fields } = button.dataset;
  const name = document.getElementById('name');
  const body = { ...JSON.parse(fields), ...(name && { name: name.value }) };
  enable(false);
  status.textContent = 'Use your passkey.';
  try {
    const { publicKey } = await post(path + '/options', body);
    const options = { publicKey: withBytes(publicKey) };
    const credential = await navigator.credentials[ceremony](options);
    await post(path + '/decision', { ...body, response: answerOf(credential) });
    location.replace(button.dataset.opens);
  } catch (error) {
    status.textContent = reasonOf(error);
    enable(true);
    button.focus();
  }
};
for (const button of buttons)
  button.addEventListener('click', () => (button.form && !button.form.reportValidity() ? undefined : act(button)));
if (window.PublicKeyCredential) {
  enable(true);
  status.textContent = '';
} else status.textContent = 'This browser has no passkeys, or this page was not loaded over https.';
`;
