import hypothesis
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("kappagcn", deadline=None, max_examples=60, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("kappagcn")
