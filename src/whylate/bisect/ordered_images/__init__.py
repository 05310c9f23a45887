"""Which of several images, in their order, makes the difference of the first and the last."""
