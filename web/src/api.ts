// Asking the server: JSON in, JSON out, failures as values with what to do next.

import type { ApiError } from "./model/wire";

export type Answer<T> = { ok: true; value: T } | { ok: false; status: number; error: ApiError };

const token_key = "berth-token";
export function token(): string | null {
  return sessionStorage.getItem(token_key);
}
export function set_token(value: string | null): void {
  if (value) sessionStorage.setItem(token_key, value);
  else sessionStorage.removeItem(token_key);
}
export function headers(): Record<string, string> {
  const own = token();
  return own ? { authorization: `Bearer ${own}` } : {};
}

/// Where a token is sent, a refusal must not make the browser ask for a password. The page would wait until somebody
/// answers that.
export function credentials(): RequestCredentials {
  return token() ? "omit" : "same-origin";
}

const as_json = (response: Response): Promise<unknown> => response.json();

async function answer_of<T>(asked: Promise<Response>, read = as_json): Promise<Answer<T>> {
  let response: Response;
  try {
    response = await asked;
  } catch (error) {
    return {
      ok: false,
      status: 0,
      error: { code: "unreachable", message: String(error), remedy: "" },
    };
  }
  let body: unknown = null;
  try {
    body = await (response.ok ? read : as_json)(response);
  } catch {
    // Told apart by the status below.
  }
  if (response.ok && body !== null) return { ok: true, value: body as T };
  const told = (body as { error?: Partial<ApiError> } | null)?.error;
  const error = {
    code: told?.code ?? `http_${response.status}`,
    message: told?.message ?? `HTTP ${response.status}`,
    remedy: told?.remedy ?? "",
  };
  return { ok: false, status: response.status, error };
}

type Query = Record<string, string | number | null>;

function asked(path: string, query: Query, signal?: AbortSignal): Promise<Response> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null) words.set(name, String(value));
  const address = words.size ? `${path}?${words}` : path;
  const how = { headers: headers(), credentials: credentials(), cache: "no-cache" } as const;
  return fetch(address, { ...how, ...(signal ? { signal } : {}) });
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer<T>> {
  return answer_of<T>(asked(path, query, signal));
}

/// What is no JSON.
export function get_text(path: string, query: Query, signal: AbortSignal): Promise<Answer<string>> {
  return answer_of<string>(asked(path, query, signal), (response) => response.text());
}

/// One address that is asked repeatedly: only what has changed since comes over.
export class Repeated<T> {
  private tag: string | null = null;
  private last: T | null = null;

  constructor(private readonly path: string) {}

  async ask(signal: AbortSignal): Promise<Answer<T>> {
    const known: Record<string, string> = this.tag === null ? {} : { "if-none-match": this.tag };
    const asked = fetch(this.path, {
      headers: { ...headers(), ...known },
      credentials: credentials(),
      cache: "no-store",
      signal,
    });
    const response = await asked.catch(() => null);
    if (response?.status === 304 && this.last !== null) return { ok: true, value: this.last };
    const answer = await answer_of<T>(response ? Promise.resolve(response) : asked);
    if (answer.ok) {
      this.tag = response?.headers.get("etag") ?? null;
      this.last = answer.value;
    }
    return answer;
  }
}

/// The secret of a link that `berth serve` printed; null: the address has none. It is taken out of the address at once,
/// so that no history and no copy keeps it.
export function take_link(): string | null {
  const start = "#sign-in=";
  if (!location.hash.startsWith(start)) return null;
  const link = location.hash.slice(start.length);
  history.replaceState(null, "", "#/");
  return link;
}

/// Exchanges it for a token of this tab; what went wrong, else null.
export async function sign_in(link: string): Promise<ApiError | null> {
  const before = token();
  set_token(null);
  const answer = await post<{ token: string }>("api/v1/sign-in", { link });
  if (!answer.ok) {
    set_token(before);
    return answer.error;
  }
  set_token(answer.value.token);
  return null;
}

/// X-Berth: what a form of another site cannot send.
export function post<T>(path: string, body: unknown): Promise<Answer<T>> {
  return answer_of<T>(
    fetch(path, {
      method: "POST",
      credentials: credentials(),
      headers: { ...headers(), "content-type": "application/json", "x-berth": "1" },
      body: JSON.stringify(body),
    }),
  );
}
