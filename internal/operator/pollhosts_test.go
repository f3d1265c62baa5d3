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

var _ = DescribeTable("The flag with the hosts that components may poll", func(text string, want PollHosts,
	problem string,
) {
	hosts, err := ParsePollHosts(text)
	if problem == "" {
		Expect(err).NotTo(HaveOccurred())
		Expect(hosts).To(Equal(want))
		return
	}
	Expect(err).To(MatchError(ContainSubstring(problem)))
},
	Entry("names, domains and addresses", "a_b.example.com, *.Example.org,10.0.0.1,0:0::1",
		PollHosts{"a_b.example.com", "*.example.org", "10.0.0.1", "::1"}, ""),
	Entry("all", "*", PollHosts{"*"}, ""),
	Entry("none", "", PollHosts(nil), ""),
	Entry("a port", "a.example.com,127.0.0.1:8080", nil, `host "127.0.0.1:8080"`),
	Entry("a scheme", "https://a.example.com", nil, `host "https://a.example.com"`),
	Entry("no domain", "*example.com", nil, `host "*example.com"`),
	Entry("a domain of addresses", "*.10.0.0.1", nil, `host "*.10.0.0.1"`),
	Entry("nothing", "a.example.com,", nil, `host ""`),
)
