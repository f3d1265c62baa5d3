package manifests

import (
	"strconv"
	"strings"
)

// listSeparator separates the values of an annotation.
const listSeparator = ","

// EffectiveDeleteOrder returns the deletion wave of the object: DeleteOrder, or the negative Order. Deletion waves run
// in ascending order.
func (s Settings) EffectiveDeleteOrder() int {
	if s.DeleteOrder != nil {
		return *s.DeleteOrder
	}
	return -s.Order
}

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
	order, alias := p.order(AnnotationOrder), p.order(AnnotationApplyOrder)
	switch {
	case order != nil && alias != nil && *order != *alias:
		p.fail(
			AnnotationOrder,
			"is %d, but its alias %s is %d; remove one of them",
			*order,
			AnnotationApplyOrder,
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
