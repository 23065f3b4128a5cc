/**
 * The only script of a page: copy buttons and show buttons, which are hidden without it. It stands in the page itself, and
 * its hash in the page's policy. A password is hidden again before it is sent, so that browsers keep it as a password.
 */
export const PAGE_SCRIPT = `
for (const button of document.querySelectorAll('button[data-copy]')) {
  const code = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener('click', async () => {
    const status = button.nextElementSibling;
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      status.textContent = 'Copied';
    } catch {
      status.textContent = 'Selected: copy it with the keyboard';
    }
  });
}
for (const button of document.querySelectorAll('button[data-show]')) {
  const fields = [...button.form.querySelectorAll('input[type=password]')];
  const show = (shown) => {
    for (const field of fields) field.type = shown ? 'text' : 'password';
    button.textContent = (shown ? 'Hide ' : 'Show ') + button.dataset.show;
  };
  button.hidden = false;
  button.addEventListener('click', () => show(fields[0].type === 'password'));
  button.form.addEventListener('submit', () => show(false));
}
`;
