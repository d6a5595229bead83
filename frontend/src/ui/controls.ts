/** Connects a segmented control: buttons with `data-value`, of which one is pressed. */
export function choices(
  control: HTMLElement,
  chosen: string,
  choose: (value: string) => void,
): void {
  const buttons = [...control.querySelectorAll<HTMLButtonElement>("button[data-value]")];
  const press = (value: string): void => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.value === value));
    }
  };
  press(chosen);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const value = button.dataset.value!;
      press(value);
      choose(value);
    });
  }
}

/** Connects a slider in per cent and shows its value in the `output` beside it. */
export function slider(input: HTMLInputElement, chosen: number, choose: (value: number) => void): void {
  const output = input.parentElement?.querySelector("output");
  const say = (): void => {
    if (output) output.textContent = `${input.value}\u00a0%`;
  };
  input.value = String(chosen);
  say();
  input.addEventListener("input", () => {
    say();
    choose(Number(input.value));
  });
}
