// Package echo answers requests of the API server to Services, in place of the programs that the fake pods do not run:
// it admits everything, converts objects by changing their version, and serves APIs without types. So webhooks and
// APIServices of a chart work as soon as the pods behind their Services are ready.
//
// The API server accepts no loopback addresses as endpoints, and nobody listens at those of fake pods. So its egress
// selector sends all connections to Services through a unix socket, by HTTP CONNECT to the address of the Service. A
// connection to a Service without a ready endpoint is refused, like in any cluster. A connection to another address,
// such as that of a Service of type ExternalName, is passed on.
//
// The certificate is that of a Secret which a pod of the Service mounts, if it is valid for the name of the Service.
// Otherwise the authority of the cluster signs one, which the API server trusts where a webhook or an APIService names
// no authority. In two cases the connection fails: the webhook names an authority whose key only the program in the pod
// would know, or it names none, because the program would write the authority of its mounted certificate there.
package echo
