// What the page reads from the broker.

/** An answer, or an error that says what the broker said. */
export async function read(address, options) {
  const response = await fetch(address, options);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.detail ?? response.statusText), { problem: body });
  return body;
}

export const overview = () => read("/overview.json");
export const cluster = (id) => read(`/api/v1/advertisements/${encodeURIComponent(id)}`);
export const reservation = (id) => read(`/api/v1/reservations/${encodeURIComponent(id)}`);
export const life = (id) => read(`/life.json?${new URLSearchParams({ id })}`);
export const clusters = (query) => read(`/clusters.json?${new URLSearchParams(query)}`);
export const reservations = (query) => read(`/reservations.json?${new URLSearchParams(query)}`);

export function dryRun(request) {
  return read("/api/v1/reservations?dryRun=true", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request),
  });
}

/** Events as they happen. After a break the browser takes up where it was; if that is too long ago, from now on. */
export function follow(onEvent, onState) {
  const source = new EventSource("/api/v1/events");
  for (const name of ["advertisement", "reservation", "cluster"]) {
    source.addEventListener(name, (event) => onEvent({ name, id: event.lastEventId, ...JSON.parse(event.data) }));
  }
  source.onopen = () => onState("live");
  source.onerror = () => {
    onState("offline");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(onEvent, onState), 3000);
  };
}
