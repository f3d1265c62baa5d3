// Package dnstest is a DNS service with an HTTP API that behaves badly, as real ones do: it allocates the ids, loses
// answers after it did the work, limits the rate of requests, returns lists in pages, and remembers idempotency keys
// only for a time. A test selects the faults of single calls, and counts records and creations by their tags.
//
//	server := dnstest.New(dnstest.Options{})
//	api := httptest.NewServer(server)
//	server.Inject(dnstest.Create, dnstest.Fault{LoseAnswer: true})
//
// The API, in which every request has the header "Authorization: Bearer TOKEN":
//
//	POST   /records             creates a record; header Idempotency-Key
//	GET    /records?tag=&page=  lists the records with a tag, or all, in pages
//	GET    /records/ID          returns a record
//	PUT    /records/ID          changes value and TTL of a record
//	DELETE /records/ID          deletes a record
package dnstest
