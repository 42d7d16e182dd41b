package connlimit

// A heap keeps the least element first. It calls `moved` with an element's new index, by which the
// element can be removed. Each operation takes O(log n).
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	moved func(item T, index int)
}

func (h *heap[T]) first() (item T, ok bool) {
	if len(h.items) == 0 {
		return item, false
	}
	return h.items[0], true
}

func (h *heap[T]) push(item T) {
	h.items = append(h.items, item)
	h.moved(item, len(h.items)-1)
	h.fix(len(h.items) - 1)
}

func (h *heap[T]) remove(i int) {
	var none T
	last := len(h.items) - 1
	if i != last {
		h.swap(i, last)
	}
	h.items[last] = none // frees the element
	h.items = h.items[:last]
	if i != last {
		h.fix(i)
	}
}

// fix restores the order after the element at i has changed.
func (h *heap[T]) fix(i int) {
	for i > 0 && h.less(h.items[i], h.items[(i-1)/2]) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.less(h.items[child], h.items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *heap[T]) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.moved(h.items[i], i)
	h.moved(h.items[j], j)
}
