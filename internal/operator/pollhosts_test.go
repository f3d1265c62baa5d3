package operator

import (
	"strings"

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

var _ = DescribeTable("The flag with the hosts that components may poll", func(text, problem string) {
	hosts, err := ParsePollHosts(text)
	if problem == "" {
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Join(hosts, ",")).To(Equal(text))
		return
	}
	Expect(err).To(MatchError(ContainSubstring(problem)))
},
	Entry("names, domains and addresses", "a.example.com,*.Example.org,10.0.0.1,::1", ""),
	Entry("all", "*", ""),
	Entry("a port", "a.example.com,127.0.0.1:8080", `host "127.0.0.1:8080"`),
	Entry("a scheme", "https://a.example.com", `host "https://a.example.com"`),
	Entry("no domain", "*example.com", `host "*example.com"`),
	Entry("nothing", "a.example.com,", `host ""`),
)
