// The address behind the #: which view, of which thing.

export type Route =
  | { view: "overview" }
  | { view: "gpu"; id: string }
  | { view: "timeline" }
  | { view: "usage" }
  | { view: "health" }
  | { view: "runs" }
  | { view: "run"; id: string }
  | { view: "compare"; id: string }
  | { view: "queue" }
  | { view: "compose" }
  | { view: "hosts" };

export function route_of(hash: string): Route {
  const [view = "", ...rest] = hash.replace(/^#\/?/, "").split("/");
  let id = rest.join("/");
  try {
    id = decodeURIComponent(id);
  } catch {
    // A hand-written address with a lone %: taken as it stands.
  }
  switch (view) {
    case "gpu":
      return id ? { view, id } : { view: "overview" };
    case "run":
    case "compare":
      return id ? { view, id } : { view: "runs" };
    case "queue":
    case "timeline":
    case "usage":
    case "health":
    case "runs":
    case "compose":
    case "hosts":
      return { view };
    default:
      return { view: "overview" };
  }
}

export function address_of(route: Route): string {
  if (route.view === "overview") return "#/";
  if ("id" in route) return `#/${route.view}/${encodeURIComponent(route.id)}`;
  return `#/${route.view}`;
}
