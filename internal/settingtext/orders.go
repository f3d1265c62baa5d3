package settingtext

import (
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// listSeparator separates the values of an annotation.
const listSeparator = ","

func (p *settingsParser) order(name string) *int {
	v, ok := p.value(name)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil && strings.Contains(v, listSeparator) {
		p.fail(name, "%q: only order, apply-order and purge-order may have several values, and only in the phase apply", v)
		return nil
	}
	if err != nil || n < MinOrder || n > MaxOrder {
		p.fail(name, "%q is not a whole number from %d to %d", v, MinOrder, MaxOrder)
		return nil
	}
	return &n
}

func (p *settingsParser) applyOrder() int {
	order, alias := p.order(manifests.AnnotationOrder), p.order(manifests.AnnotationApplyOrder)
	switch {
	case order != nil && alias != nil && *order != *alias:
		p.fail(
			manifests.AnnotationOrder,
			"is %d, but its alias %s is %d; remove one of them",
			*order,
			manifests.AnnotationApplyOrder,
			*alias,
		)
		return *order
	case order != nil:
		return *order
	case alias != nil:
		return *alias
	}
	return 0
}

// Bounds of wave numbers.
const (
	MinOrder = -32768
	MaxOrder = 32767
)
