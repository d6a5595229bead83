/** A segmented control: buttons with `data-value`, of which one is pressed. */
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
