"""Architectures of timm, torchvision, transformers and Keras, what each is called with, and children that run them."""
