"""What a step is where one program sees the whole batch."""


class PlainStep:
    """Base of the steps of all backends: Keras' own step, on one batch in one part."""

    can_split = False
    num_replicas = 1

    def prepare_step(self, jit_compile):
        """Binds the step to the optimizer and the compiler, where it must be."""

    def build_running_means(self, batch_spec):
        """Makes the variables of losses' and metrics' means before the first step."""

    def sum_over_replicas(self, values):
        """Returns the sums of a list of tensors over all replicas of the step."""
        return values
