// Package external handles dependents outside Kubernetes, such as database schemas, DNS records and buckets.
//
// A generator renders an external as a manifest of the API group external.fairlead.io. Its kind selects the Kind that
// handles it, which an author registers with Of and Options.Externals of package component. The reconciler orders,
// polls, repairs and deletes externals as it does with other dependents.
//
// The reconciler stores its intent before it calls Create, and the result afterwards, in Secrets beside the component.
// So a crash at any moment neither loses nor duplicates an external: if the result of a Create is unknown, the
// reconciler identifies the external, finds it by its token, or asks a person; see Creator.
//
// # Services
//
// A service in any language can handle externals. Service and Dial make a Driver that calls it, and Handler serves a
// Kind that is written in Go. The client makes one HTTP POST for each call. Credentials and TLS are those of package
// generator/function: a bearer token, a CA bundle, a client certificate. Redirects are not followed, and the proxy in
// the environment is not used.
//
// This is a call. A Secret or ConfigMap in references has base64 in data, and state is base64, too:
//
//	{"apiVersion": "external.fairlead.io/v1", "kind": "Call",
//	 "method": "create",                  // info, observe, create, update, delete, find or list
//	 "externalKind": "Schema",
//	 "external": {
//	   "name": "orders",                  // metadata.name of the manifest
//	   "component": {"apiVersion": "example.com/v1", "kind": "Shop",
//	     "metadata": {"namespace": "prod", "name": "shop", "uid": "…",
//	       "generation": 3, "labels": {}, "annotations": {}}},
//	   "spec": {"charset": "utf8mb4"},    // desired; for a deletion, as applied last
//	   "applied": {"charset": "latin1"},  // as applied last; missing before the first apply
//	   "id": "4711",                      // missing for create and find
//	   "token": "…",                      // the same for all attempts to create this external
//	   "state": "…"},                     // the state of the answer to create
//	 "references": [{"kind": "Secret", "namespace": "prod", "name": "db-admin", "data": {"password": "…"}}]}
//
// The call of info contains no external. The call of list contains externals, a list of such maps without applied and
// state.
//
// The answer has status 200. Fields that are not needed may be missing, and unknown fields are ignored:
//
//	{"apiVersion": "external.fairlead.io/v1", "kind": "Answer",
//	 "external": {                        // answers observe, create and update
//	   "id": "4711", "state": "…",        // create: at most 1 KiB and 64 KiB
//	   "observed": {"charset": "utf8mb4"}, // at most 256 KiB; create may leave it out
//	   "token": "…",                      // the token that the external carries
//	   "differs": "",                     // how observed differs from spec; empty if no update is needed
//	   "ready": true, "message": "",
//	   "pollAfter": "5m"},                // the next observation; without it the poll interval holds
//	 "findings": {"immutable": ["spec.charset"]}} // changes from applied to spec that cannot be made
//
// The answer to find contains found (true or false), and external with the id. The answer to list contains externals,
// which are maps with the id. The answer to delete is empty. The answer to info contains times with the defaults of
// Options:
//
//	"info": {"kind": "Schema", "creates": true, "updates": true, "deletes": true, "finds": true, "lists": false,
//	  "timeout": "30s", "poll": "1m", "settle": "5s", "idempotentFor": "0s", "concurrency": 4, "rate": 10, "burst": 20}
//
// An error is in the answer, also with status 200, because the status 404 of a proxy must not look like an external
// that does not exist:
//
//	"error": {"code": "NotFound", "message": "…", "retryAfter": "10s"}
//
//	NotFound  the external does not exist
//	Exists    create: an external with this identity exists, nothing was created; external has its id if it is known
//	Refused   the call had no effect, and only a change of the spec, the credentials or the external system can help
//	TryLater  the call had no effect, and may succeed after retryAfter
//	Failed    it is not known whether the call had an effect
//
// The client treats 429, with the header Retry-After, as TryLater; other statuses from 300 to 499 as Refused, except
// 408; and all other statuses, a lost answer and an answer that it cannot read as Failed. A call that was not sent,
// because there is no connection or no trusted certificate, had no effect. Calls and answers contain at most 1 MiB.
//
// A service checks the spec itself: the methods create and update answer Refused for an invalid spec, and update
// answers Refused for a change that cannot be made. Driver.Check must not wait, so a Driver of a service makes no call
// there. Check finds no invalid spec and no identity. It returns the immutable changes that the last answer for the
// same applied and desired spec reported, for ten minutes. If the kind has no update, all changes of the spec are
// immutable. A service whose externals have an identity that is known before implements find: it looks for the
// identity.
package external
