// Light or dark: as the system says, until someone chooses.

const stored = () => localStorage.getItem("theme");
const system = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function show(button) {
  const theme = stored() ?? system();
  document.documentElement.dataset.theme = theme;
  const other = theme === "dark" ? "light" : "dark";
  button.textContent = other === "dark" ? "Dark" : "Light";
  button.setAttribute("aria-label", `Use the ${other} theme`);
  return other;
}

export function begin(button) {
  let other = show(button);
  button.addEventListener("click", () => {
    localStorage.setItem("theme", other);
    other = show(button);
  });
}
