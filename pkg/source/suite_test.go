package source_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/repeat"
)

func TestSource(t *testing.T) {
	RegisterFailHandler(Fail)
	repeat.Specs(t, "source")
}
