package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/repeat"
)

func TestV1alpha1(t *testing.T) {
	RegisterFailHandler(Fail)
	repeat.Specs(t, "v1alpha1")
}
