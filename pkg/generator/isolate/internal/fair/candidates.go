package fair

import "slices"

// candidates are renderings to choose from: a list for each namespace that has one. A namespace offers the first of its
// list, so that a choice looks at one rendering of each namespace.
type candidates [][]candidate

// candidate is a rendering with its position among all candidates.
type candidate struct {
	*Rendering
	position int
}

// candidatesOf returns renderings as candidates. Those of a namespace keep their order.
func candidatesOf(renderings []*Rendering) candidates {
	var c candidates
	index := map[string]int{}
	for position, r := range renderings {
		i, known := index[r.Namespace]
		if !known {
			i = len(c)
			index[r.Namespace] = i
			c = append(c, nil)
		}
		c[i] = append(c[i], candidate{r, position})
	}
	return c
}

// takeFirst removes the first rendering of the list with an index, and returns it.
func (c *candidates) takeFirst(i int) *Rendering {
	list := (*c)[i]
	if (*c)[i] = list[1:]; len(list) == 1 {
		*c = slices.Delete(*c, i, i+1)
	}
	return list[0].Rendering
}

// drop removes all renderings of a namespace.
func (c *candidates) drop(namespace string) {
	*c = slices.DeleteFunc(*c, func(list []candidate) bool { return list[0].Namespace == namespace })
}
