// Passkeys: forms marked with data-passkey ask the browser for one before they are sent. The server
// makes the challenge and checks the answer; nothing is decided here.
import { t } from "../ui/translate";

type Json = Record<string, unknown>;

function bytes(text: string): ArrayBuffer {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0)).buffer;
}

function text(buffer: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// The API takes and gives buffers where JSON has base64url.
function revive(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => revive(each));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revive(each, name)]));
  }
  return (key === "id" || key === "challenge") && typeof value === "string" ? bytes(value) : value;
}

export function readOptions(options: Json): Json {
  // A relying party's id is a host name.
  const { rp, ...others } = options["publicKey"] as Json;
  return { ...(revive(others) as Json), ...(rp ? { rp } : {}) };
}

function answer(credential: PublicKeyCredential): Json {
  const response = credential.response as AuthenticatorResponse & Partial<AuthenticatorAttestationResponse & AuthenticatorAssertionResponse>;
  const buffers: Json = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"] as const) {
    const value = response[name];
    if (value) buffers[name] = text(value);
  }
  return {
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: buffers,
  };
}

async function optionsOf(form: HTMLFormElement): Promise<Json> {
  const inPage = form.querySelector("script[type='application/json']");
  if (inPage) return JSON.parse(inPage.textContent ?? "") as Json;
  const sent = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!sent.ok) throw new Error(String(sent.status));
  return (await sent.json()) as Json;
}

async function ask(form: HTMLFormElement): Promise<void> {
  const field = form.querySelector<HTMLInputElement>("input[name='credential']");
  if (!field) return;
  const publicKey = readOptions(await optionsOf(form));
  const credential = form.dataset["passkey"] === "create"
    ? await navigator.credentials.create({ publicKey: publicKey as unknown as PublicKeyCredentialCreationOptions })
    : await navigator.credentials.get({ publicKey: publicKey as unknown as PublicKeyCredentialRequestOptions });
  if (!credential) return;
  field.value = JSON.stringify(answer(credential as PublicKeyCredential));
  form.submit();
}

export function installPasskeys(): void {
  const known = "PublicKeyCredential" in window;
  for (const note of document.querySelectorAll<HTMLElement>("[data-no-passkeys]")) note.hidden = known;
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) {
    form.hidden = !known;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const status = form.querySelector<HTMLElement>("[role='status']");
      if (status) status.textContent = "";
      ask(form).catch(() => {
        if (status) status.textContent = t("No passkey was used. Try again, or choose another way.");
      });
    });
  }
}
