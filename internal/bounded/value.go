package bounded

// Value counts the nodes of decoded data, and returns an error if they exceed a limit. Nodes are counted as often as
// they can be reached, so the data must not contain itself deeper than the limit of depth; it is an error if it does.
func Value(data any, limits Limits) (int, error) {
	l := limits.withDefaults()
	c := counter{limits: l}
	if err := c.count(data, 0); err != nil {
		return c.nodes, err
	}
	return c.nodes, nil
}

type counter struct {
	limits Limits
	nodes  int
}

func (c *counter) count(data any, depth int) error {
	switch data := data.(type) {
	case map[string]any:
		if err := c.add(1+len(data), depth); err != nil {
			return err
		}
		for _, value := range data {
			if err := c.count(value, depth+1); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if err := c.add(1, depth); err != nil {
			return err
		}
		for _, value := range data {
			if err := c.count(value, depth+1); err != nil {
				return err
			}
		}
		return nil
	default:
		return c.add(1, 0)
	}
}

func (c *counter) add(nodes, depth int) error {
	if depth >= c.limits.Depth {
		return tooDeep(0, c.limits.Depth)
	}
	if c.nodes += nodes; c.nodes > c.limits.Nodes {
		return tooMany(0, c.limits.Nodes)
	}
	return nil
}
