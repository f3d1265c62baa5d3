package operator

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/repeat"
)

func TestOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	repeat.Specs(t, "operator")
}
