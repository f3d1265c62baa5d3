package component

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichFinalizersAreAccepted(t *testing.T) {
	for _, c := range []struct {
		name     string
		names    Names
		accepted bool
	}{
		{"none", Names{}, true},
		{"with a domain", Names{Finalizer: "example.com/shop", PreviousFinalizers: []string{"example.com/old"}}, true},
		{"a previous one without a domain", Names{PreviousFinalizers: []string{"mariadb-operator.cs.sap.com"}}, true},
		{"the own one without a domain", Names{Finalizer: "shop"}, false},
		{"a previous one with an empty domain", Names{PreviousFinalizers: []string{"/old"}}, false},
		{"a previous one with an empty name", Names{PreviousFinalizers: []string{"example.com/"}}, false},
		{"a previous one of Kubernetes", Names{PreviousFinalizers: []string{metav1.FinalizerOrphanDependents}}, false},
		{"a previous one that Kubernetes deletes by", Names{
			PreviousFinalizers: []string{metav1.FinalizerDeleteDependents},
		}, false},
		{"an empty previous one", Names{PreviousFinalizers: []string{""}}, false},
		{"a previous one that the API server refuses", Names{PreviousFinalizers: []string{"a b"}}, false},
		{"one that is the own one and a previous one, without a domain", Names{
			Finalizer: "shop", PreviousFinalizers: []string{"shop"},
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Options{Names: c.names}.checkNames("shops.example.com")
			if c.accepted {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("finalizer ")))
		})
	}
}
