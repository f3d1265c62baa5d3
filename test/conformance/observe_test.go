package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// The rights of an operator that watches less than the cluster, as docs/install.md names them. A rule is "groups | resources | verbs".
var (
	// rightsAnywhere are what it needs in the cluster, whichever it is.
	rightsAnywhere = []string{
		"'' | namespaces | get",
		"apiextensions.k8s.io, apiregistration.k8s.io | customresourcedefinitions, apiservices | list, watch",
	}
	rightsToRelease  = "gadgets.example.com | gadgets, gadgets/status, gadgets/finalizers | get, update, patch"
	rightsToServe    = "gadgets.example.com | gadgets, gadgets/status, gadgets/finalizers | get, list, watch, update, patch"
	rightsToReport   = "events.k8s.io | events | create, patch"
	rightToAct       = "'' | serviceaccounts | impersonate"
	rightsOnSecrets  = "'' | secrets | list, watch"
	rightsOnConfigs  = "'' | configmaps | get, list, watch, create, patch, delete"
	rightsOnAccounts = "'' | serviceaccounts | get, create, patch, delete"
)

// permit lets a user do something in a namespace, or in all where it is empty, until the object that it returns is deleted.
func permit(ctx context.Context, namespace, name, user string, rules ...string) {
	GinkgoHelper()
	var b strings.Builder
	for _, rule := range rules {
		parts := strings.Split(rule, " | ")
		fmt.Fprintf(&b, "- {apiGroups: [%s], resources: [%s], verbs: [%s]}\n", parts[0], parts[1], parts[2])
	}
	role, where := "Role", ", namespace: "+namespace
	if namespace == "" {
		role, where = "ClusterRole", ""
	}
	create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: {name: %[3]s%[2]s}
rules:
%[5]s---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sBinding
metadata: {name: %[3]s%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[3]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[4]q}]`, role, where, name, user, b.String()))
}

// withdraw takes back what permit granted in a namespace.
func withdraw(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, name))
}

// newUser makes the identity of an operator, which may do nothing yet.
func newUser(ctx context.Context, name string) *rest.Config {
	GinkgoHelper()
	user, err := cluster.User(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	return user.Config
}

// watchesOf tells the watches of an operator since a mark on a resource, as "user namespace", each as often as it was opened.
func watchesOf(events testcluster.Events, resource string) []string {
	var found []string
	for _, e := range events.Resource(resource).Verb("watch").Code(200) {
		found = append(found, strings.TrimSpace(e.ImpersonatedUser+" "+e.Namespace))
	}
	return found
}

// scissors end the watches that are open.
type scissors struct {
	mu   sync.Mutex
	open []io.Closer
}

func (s *scissors) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") == "true" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.open = append(s.open, response.Body)
		}
		return response, err
	})
}

func (s *scissors) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.open {
		_ = body.Close()
	}
	s.open = nil
}
