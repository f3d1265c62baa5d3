package operator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("The hosts that components may poll", func(hosts PollHosts, host string, allowed bool) {
	Expect(hosts.allows(host)).To(Equal(allowed))
},
	Entry("none by default", PollHosts(nil), "example.com", false),
	Entry("a name", PollHosts{"example.com"}, "EXAMPLE.com", true),
	Entry("no name below it", PollHosts{"example.com"}, "a.example.com", false),
	Entry("no name that ends alike", PollHosts{"*.example.com"}, "badexample.com", false),
	Entry("a domain", PollHosts{"*.example.com"}, "a.b.example.com", true),
	Entry("an address", PollHosts{"10.0.0.1"}, "10.0.0.1", true),
	Entry("all", PollHosts{"*"}, "169.254.169.254", true),
)
